// Searches a workflow's net for deadlocks and other defects before it runs.

export { type Analysis, type AnalysisOptions, analyse, canEndFrom } from './analyse.ts'
export { type Defect, type DefectName, showTrace } from './defect.ts'
export { type NetArc, type NetDrawing, netOf } from './drawing.ts'
export { MARKINGS_MAX } from './explore.ts'
export type { TraceStep } from './marking-paths.ts'
