// Turns a message from the bus into an event, or decides when it is delivered again.

export {
  mayReadAnyStream,
  mayReadStream,
  parseStreamEntry,
  type StreamEntry,
  type StreamList,
} from './allowed-streams.ts'
export {
  BODY_HEADER,
  bytesOf,
  isUnread,
  type Message,
  type MessageVerdict,
  readMessage,
  UNREAD_HEADER,
} from './bus-message.ts'
export { durableOf } from './durable-name.ts'
export { againAfterMs } from './redelivery-delay.ts'
export { type AgainVerdict, readAgain } from './reparse.ts'
