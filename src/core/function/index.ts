export {
  type FunctionOutcome,
  failedFunction,
  findJsonFault,
  outcomeOfError,
  outcomeOfValue,
} from './outcome.ts'
