// Tests of definitions, for the command `millrace test` and for other test runners.

export {
  type FlowTestResult,
  type FlowTestsOptions,
  type FlowTestsResult,
  type LocatedDifference,
  runFlowTests,
} from './run-flow-tests.ts'
