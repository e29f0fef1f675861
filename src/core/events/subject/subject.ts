// The grammar of subjects and patterns (docs/spec/subjects.md). A subject names what happened: dotted tokens. A pattern is a
// subject in which `*` stands for one token and a last `>` for one or more. This file decides whether a pattern matches;
// trie.ts finds the patterns of a subject.

const SUBJECT_LENGTH_MAX = 255
const SUBJECT_TOKENS_MAX = 32

export interface SubjectProblem {
  /** What to do about it. */
  readonly message: string
  /** Offset in the text, in UTF-16 units. */
  readonly offset: number
  readonly length: number
}

export type SubjectResult =
  | { readonly ok: true; readonly tokens: readonly string[] }
  | { readonly ok: false; readonly problem: SubjectProblem }

/** Spaces and control characters; otherwise the sender chooses what a token contains. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const FORBIDDEN = /[\s\u0000-\u001f\u007f-\u009f]/
const WILDCARD = /[*>]/

export function parseSubject(text: string): SubjectResult {
  return parse(text, (token) => {
    const at = token.search(WILDCARD)
    if (at < 0) return null
    return {
      message: `a subject has no wildcards: \`${token[at]}\` belongs in a pattern`,
      offset: at,
      length: 1,
    }
  })
}

export function parsePattern(text: string): SubjectResult {
  return parse(text, (token, isLast) => {
    if (token === '*') return null
    if (token === '>') {
      if (isLast) return null
      return {
        message: '`>` stands for the rest: put it last, or write `*` for one token',
        offset: 0,
        length: 1,
      }
    }
    const at = token.search(WILDCARD)
    if (at < 0) return null
    return { message: `\`${token[at]}\` stands for whole tokens: put it between dots`, offset: at, length: 1 }
  })
}

type TokenCheck = (token: string, isLast: boolean) => SubjectProblem | null

function parse(text: string, check: TokenCheck): SubjectResult {
  if (text === '') return refuse('a subject is empty: write dotted tokens, as in `github.events.push`', 0, 0)
  if (text.length > SUBJECT_LENGTH_MAX) {
    const excess = text.length - SUBJECT_LENGTH_MAX
    return refuse(`a subject has at most ${SUBJECT_LENGTH_MAX} characters`, SUBJECT_LENGTH_MAX, excess)
  }
  const tokens = text.split('.')
  let at = 0
  for (const [index, token] of tokens.entries()) {
    if (index >= SUBJECT_TOKENS_MAX) {
      return refuse(`a subject has at most ${SUBJECT_TOKENS_MAX} tokens`, at, text.length - at)
    }
    if (token === '') return refuse('a token is empty: write something between the dots', at, 1)
    const forbidden = token.search(FORBIDDEN)
    if (forbidden >= 0) {
      return refuse(
        'a token has no spaces or control characters: join words with `_` or `-`',
        at + forbidden,
        1,
      )
    }
    const problem = check(token, index === tokens.length - 1)
    if (problem !== null) return refuse(problem.message, at + problem.offset, problem.length)
    at += token.length + 1
  }
  return { ok: true, tokens }
}

function refuse(message: string, offset: number, length: number): SubjectResult {
  return { ok: false, problem: { message, offset, length } }
}

/** Both must be valid; see the parsers above. */
export function matchesPattern(pattern: string, subject: string): boolean {
  const wanted = pattern.split('.')
  const given = subject.split('.')
  for (const [index, token] of wanted.entries()) {
    if (index >= given.length) return false
    if (token === '>') return true
    if (token !== '*' && token !== given[index]) return false
  }
  return wanted.length === given.length
}

/** Whether a subject could match both. */
export function patternsMeet(one: string, other: string): boolean {
  const [a, b] = [one.split('.'), other.split('.')]
  for (let index = 0; index < Math.max(a.length, b.length); index += 1) {
    const [left, right] = [a[index], b[index]]
    if (left === undefined || right === undefined) return false
    if (left === '>' || right === '>') return true
    if (left !== right && left !== '*' && right !== '*') return false
  }
  return true
}
