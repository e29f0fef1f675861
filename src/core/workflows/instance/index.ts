export { type InstanceGroup, sumGroups } from './count-instances.ts'
export type {
  Attention,
  Data,
  DataChange,
  DoneStep,
  Failed,
  Firing,
  HistoryEntry,
  HistoryRow,
  HistoryType,
  Instance,
  InstanceRow,
  InstanceState,
  Marking,
  NewHistory,
  NewInstance,
  RollBack,
  Stay,
} from './instance.ts'
export { ATTENTIONS, HISTORY_TYPES, INSTANCE_STATES } from './instance.ts'
export { hasToken, markingText, normalMarking, parseMarking } from './marking.ts'
