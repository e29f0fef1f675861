export { makeVirtualClock, type VirtualClock } from './clock-virtual.ts'
