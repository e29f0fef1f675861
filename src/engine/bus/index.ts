export { type InletState, type Inlets, makeInlets } from './inlets.ts'
export { makeMessages } from './messages.ts'
export { makeUnreadItems } from './unread.ts'
