export { type Answer, makeAnswerCheck } from './answer.ts'
export { chatRequest, estimateTokens, type Message, makeStreamReader, type Reply, readWhole } from './chat.ts'
