// Reads and checks the tests beside the definitions.

export { checkFlowTests } from './check-flow-tests.ts'
export { type Place, type ReadTest, type ReadTests, readFlowTests } from './read-flow-tests.ts'
