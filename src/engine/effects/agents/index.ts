// Asks a language model within a token budget, as one call under the ledger.

export { type AgentProgress, type Agents, makeAgents } from './agents.ts'
