export { hashText } from './hash-text.ts'
