import { logConformance } from '../../ports/log.conformance.ts'
import { makeMemoryLog } from './index.ts'

logConformance('memory', async () => {
  const log = makeMemoryLog()
  return {
    log,
    controls: async () => log.controls.map((line) => ({ ...line })),
    messages: async () => log.messages.map(({ level, name, fields }) => ({ ...fields, level, name })),
  }
})
