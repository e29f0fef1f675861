// Parses subjects and matches them against patterns.

export type { SubjectProblem, SubjectResult } from './subject.ts'
export { matchesPattern, parsePattern, parseSubject, patternsMeet } from './subject.ts'
export type { Trie, TrieEntry } from './trie.ts'
export { makeTrie } from './trie.ts'
