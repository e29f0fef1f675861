// Builds the requests to a language model and reads its answers.

export { type Answer, makeAnswerCheck } from './agent-answer.ts'
export {
  chatRequest,
  estimateTokens,
  type Message,
  makeStreamReader,
  type Reply,
  readWhole,
} from './chat-protocol.ts'
