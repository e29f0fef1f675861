// Derives the integration run of a job that has no stored one.

export {
  hasRun,
  type JobCall,
  type ListedRun,
  RUN_VIAS,
  type RunVia,
  runOfJob,
  runStateOf,
} from './job-run.ts'
