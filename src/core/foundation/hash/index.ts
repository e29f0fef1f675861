// Hashes text.

export { hashText } from './hash-text.ts'
