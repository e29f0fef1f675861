export { type AgentProgress, type Agents, makeAgents } from './agents.ts'
