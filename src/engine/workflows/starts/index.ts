// Starts instances: with the event that triggers them, on request, or by an action.

export { makeStartAction, type RunStart } from './start-action.ts'
export { makeInlineStart } from './start-inline.ts'
export { makeStarter, type Started, type Starter } from './start-instance.ts'
