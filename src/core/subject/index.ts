export type { SubjectProblem, SubjectResult } from './subject.ts'
export {
  matchesPattern,
  parsePattern,
  parseSubject,
  SUBJECT_LENGTH_MAX,
  SUBJECT_TOKENS_MAX,
} from './subject.ts'
export type { Trie, TrieEntry } from './trie.ts'
export { makeTrie } from './trie.ts'
