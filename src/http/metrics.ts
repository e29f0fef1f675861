// Every figure of `/metrics` with its meaning; docs/metrics.md is made from it.

interface Metric {
  readonly help: string
  readonly labels?: Readonly<Record<string, string>>
}

const TABLE = {
  millrace_backlog_age_seconds: {
    help: 'How long the oldest item has been due that one more node of the role could take, over all tenants.',
    labels: { role: '`work` or `deliver`' },
  },
  millrace_outbox_rows: { help: 'What waits to be told to the bus.' },
  millrace_outbox_age_seconds: { help: 'How long the oldest that waits to be told to the bus has waited.' },
  millrace_outbox_refused: { help: 'Messages that the bus will never take, since this node started.' },
  millrace_outbox_stuck_subjects: {
    help: 'Subjects that the bus does not take now, as the node that relays sees it.',
  },
} as const satisfies Readonly<Record<string, Metric>>

export type MetricName = keyof typeof TABLE
export const METRICS: Readonly<Record<MetricName, Metric>> = TABLE

/** docs/metrics.md */
export function renderMetrics(): string {
  const rows = Object.entries(METRICS).map(([name, { help, labels = {} }]) => {
    const shown = Object.entries(labels).map(([label, values]) => `\`${label}\`: ${values}`)
    return `| \`${name}\` | ${shown.join('; ')} | ${help} |`
  })
  return `# Metrics

\`GET /metrics\` gives these gauges in the format of Prometheus; it needs no key, and no figure names a tenant. A figure that cannot be known
now is left out. Those of the outbox come from nodes that publish to NATS. What to alert on is in [deployment](deployment.md#before-you-rely-on-it).

| gauge | labels | meaning |
| --- | --- | --- |
${rows.join('\n')}
`
}
