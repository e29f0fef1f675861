export { againAfterMs } from './again.ts'
export { durableOf } from './durable.ts'
export {
  BODY_HEADER,
  bytesOf,
  isUnread,
  type Message,
  type MessageVerdict,
  readMessage,
  UNREAD_HEADER,
} from './message.ts'
export { type AgainVerdict, readAgain } from './read-again.ts'
export {
  mayReadAnyStream,
  mayReadStream,
  parseStreamEntry,
  type StreamEntry,
  type StreamList,
} from './streams.ts'
