export {
  type Fate,
  type LocalBus,
  type LocalHub,
  type LocalHubOptions,
  type Moment,
  makeLocalHub,
} from './hub.ts'
export type { SentMessage, StoredMessage, StreamSpec } from './stream.ts'
