// JSON as people write it: comments, and a comma before a closing bracket. Both become blanks, so that every position
// stays, and what is left is read strictly.

/** A string, a comment, or a comma that nothing follows but blanks and comments. The order decides. */
const PARTS =
  /"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|,(?=(?:\s|\/\/[^\n]*\n|\/\*[\s\S]*?(?:\*\/|$))*[}\]])/g

export function strictJson(text: string): string {
  return text.replace(PARTS, (part) => (part.startsWith('"') ? part : part.replace(/[^\r\n]/g, ' ')))
}
