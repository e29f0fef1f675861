// Keeps the index by which events find their workflow instance.

export {
  aheadOf,
  BUFFERED_MAX,
  type Buffered,
  bufferUpdate,
  type Correlation,
  decideTrigger,
  freeKey,
  LIVE_MAX,
  learnKey,
  NO_CORRELATION,
  nextBuffered,
  readCorrelation,
  type TriggerQuestion,
  type TriggerStep,
  unbuffer,
  writeCorrelation,
} from './correlation.ts'
