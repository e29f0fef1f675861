export type { SubjectProblem, SubjectResult } from './subject.ts'
export { matchesPattern, parsePattern, parseSubject } from './subject.ts'
export type { Trie, TrieEntry } from './trie.ts'
export { makeTrie } from './trie.ts'
