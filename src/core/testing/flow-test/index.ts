// Defines a flow test and computes its verdict from what happened.

export { isCallTo, parseCallAddress } from './call-address.ts'
export type {
  CallAddress,
  Difference,
  Expectations,
  ExpectedCall,
  ExpectedPart,
  FieldDifference,
  FlowTest,
  LostCall,
  Observed,
  ObservedCall,
  ObservedPart,
  ObservedRequest,
  OperatorAct,
  OperatorTarget,
  ScriptedAnswer,
  TestPath,
  TestStep,
} from './flow-test.ts'
export { OPERATOR_ACTS } from './flow-test.ts'
export { judgeTest } from './judge-test.ts'
