export { publishInOrder, type Sent } from './publish.ts'
