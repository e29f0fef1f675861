// Decides what a poller asks for, what a page means, when its watermark moves, and which event an item becomes.

export { itemHeader } from './item-header.ts'
export {
  added,
  NO_COUNTS,
  openWindow,
  type PageStep,
  type PollCounts,
  type PolledPage,
  type PollFault,
  type PollWindow,
  pageParam,
  stepPage,
  type WindowRules,
} from './poll-window.ts'
export { compilePoller, type ItemEvent, nextLink, POLLER_PREFIX, type Poller } from './poller.ts'
export {
  beginPoll,
  failPoll,
  NEW_POLLER,
  type PollerState,
  type PollRun,
  type PollStep,
  pausedUntil,
  rollBack,
  stepPoll,
  windowOf,
} from './poller-state.ts'
