// Every operation of the API, in the order of the document; a route that is served is declared in one of these.

import { problemShape } from './answer-shapes.ts'
import { openApiOperations } from './openapi.ts'
import { accessOperations } from './routes-access.ts'
import { catalogOperations } from './routes-catalog.ts'
import { deadLettersOperations } from './routes-dead-letters.ts'
import { definitionsOperations } from './routes-definitions.ts'
import { deliveriesOperations } from './routes-deliveries.ts'
import { demoOperations } from './routes-demo.ts'
import { eventReplaysOperations } from './routes-event-replays.ts'
import { eventsOperations } from './routes-events.ts'
import { failuresOperations } from './routes-failures.ts'
import { flowControlOperations } from './routes-flow-control.ts'
import { healthOperations } from './routes-health.ts'
import { instancesOperations } from './routes-instances.ts'
import { callbackOperations, integrationOperations } from './routes-integrations.ts'
import { keysOperations } from './routes-keys.ts'
import { lanesOperations } from './routes-lanes.ts'
import { ledgerOperations } from './routes-ledger.ts'
import { metricsOperations } from './routes-metrics.ts'
import { nodeOperations } from './routes-node.ts'
import { orphansOperations } from './routes-orphans.ts'
import { overviewOperations } from './routes-overview.ts'
import { publishOperations } from './routes-publish.ts'
import { refusedCodeOperations } from './routes-refused-code.ts'
import { rejectionsOperations } from './routes-rejections.ts'
import { replaysOperations } from './routes-replays.ts'
import { secretsOperations } from './routes-secrets.ts'
import { changeShape, streamOperations } from './routes-stream.ts'
import { subscriptionsOperations } from './routes-subscriptions.ts'
import { tryOperations } from './routes-try.ts'
import { webhookKeysOperations } from './routes-webhook-keys.ts'
import { workOperations } from './routes-work.ts'
import { workflowsOperations } from './routes-workflows.ts'

export const ALL_OPERATIONS = [
  openApiOperations,
  healthOperations,
  metricsOperations,
  webhookKeysOperations,
  callbackOperations,
  accessOperations,
  keysOperations,
  secretsOperations,
  eventsOperations,
  publishOperations,
  rejectionsOperations,
  flowControlOperations,
  catalogOperations,
  workOperations,
  lanesOperations,
  deadLettersOperations,
  replaysOperations,
  failuresOperations,
  ledgerOperations,
  eventReplaysOperations,
  workflowsOperations,
  instancesOperations,
  orphansOperations,
  subscriptionsOperations,
  deliveriesOperations,
  overviewOperations,
  streamOperations,
  demoOperations,
  nodeOperations,
  refusedCodeOperations,
  definitionsOperations,
  integrationOperations,
  tryOperations,
]

/** No answer of an operation refers to them: refusals have one, and the messages of the stream have the other. */
export const OTHER_SHAPES = [problemShape, changeShape]
