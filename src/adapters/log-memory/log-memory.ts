// A log that stores its entries, for tests and the simulator.

import type { ControlLine, Log } from '../../ports/log.ts'

export interface MemoryLog extends Log {
  readonly controls: readonly ControlLine[]
  readonly messages: readonly {
    readonly level: 'info' | 'warn' | 'error'
    readonly name: string
    readonly fields: Readonly<Record<string, unknown>>
  }[]
  clear(): void
}

export function makeMemoryLog(): MemoryLog {
  const controls: ControlLine[] = []
  const messages: MemoryLog['messages'][number][] = []
  const say =
    (level: 'info' | 'warn' | 'error') =>
    (name: string, fields: Readonly<Record<string, unknown>> = {}) => {
      messages.push({ level, name, fields })
    }
  return {
    controls,
    messages,
    control: (line) => {
      controls.push(line)
    },
    info: say('info'),
    warn: say('warn'),
    error: say('error'),
    clear: () => {
      controls.length = 0
      messages.length = 0
    },
  }
}
