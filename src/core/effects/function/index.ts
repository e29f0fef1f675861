export {
  type CodeExport,
  type CodeFile,
  type CodeFolder,
  type CodePlace,
  type CodeProblem,
  EMPTY_CODE_FOLDER,
} from './code-folder.ts'
export { isOpening, isOpenTo } from './function-access.ts'
export {
  type FunctionOutcome,
  failedFunction,
  failureText,
  findJsonFault,
  outcomeOfError,
  outcomeOfValue,
} from './function-outcome.ts'
