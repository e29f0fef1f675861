export { type Answer, makeAnswerCheck } from './agent-answer.ts'
export {
  chatRequest,
  estimateTokens,
  type Message,
  makeStreamReader,
  type Reply,
  readWhole,
} from './chat-protocol.ts'
