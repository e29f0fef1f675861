// What a server under test tells the harness, over the channel to its parent.

export interface Served {
  readonly url: string
  /** Durable completions so far. */
  done(): Promise<number>
  completionMs(): Promise<number[]>
  close(): Promise<void>
}

export type Question = 'done' | 'rssBytes' | 'completionMs' | 'cpuMs'

export function serve(served: Served): void {
  const answers: Record<Question, () => Promise<unknown>> = {
    done: () => served.done(),
    completionMs: () => served.completionMs(),
    rssBytes: async () => process.memoryUsage().rss,
    cpuMs: async () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1_000
    },
  }
  process.on('message', (question: Question | 'close') => {
    if (question === 'close') {
      void served.close().then(() => process.exit(0))
      return
    }
    void answers[question]().then((value) => process.send?.({ question, value }))
  })
  process.on('disconnect', () => process.exit(0))
  process.send?.({ question: 'url', value: served.url })
}
