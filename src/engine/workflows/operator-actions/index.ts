// Carries out what operators do with instances: read, fire, move, edit, cancel, retry, migrate.

export type { ReadEntry, ReadInstance, ReadPast } from './read-instance.ts'
export { makeWorkflowOperatorApi, type WorkflowOperatorApi } from './workflow-operator-api.ts'
