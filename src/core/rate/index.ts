export type { HostBucket, HostEvent } from './host.ts'
export { hostAllows, stepHost } from './host.ts'
export type { Tokens } from './tokens.ts'
export { giveBack, nextTokensAt, refill, take, whole } from './tokens.ts'
