export { makeNatsBus, type NatsBusOptions } from './bus-nats.ts'
