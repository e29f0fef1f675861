// All routes of the API, in the order of its document: their operations, and what serves them.

import type { FastifyInstance } from 'fastify'
import { problemShape } from './answer-shapes.ts'
import type { HttpApi } from './api.ts'
import { openApiOperations } from './openapi.ts'
import { accessOperations, addAccessRoutes } from './routes-access.ts'
import { addCatalogRoutes, catalogOperations } from './routes-catalog.ts'
import { addDeadLetterRoutes, deadLettersOperations } from './routes-dead-letters.ts'
import { addDefinitionRoutes, definitionsOperations } from './routes-definitions.ts'
import { addDeliveryRoutes, deliveriesOperations } from './routes-deliveries.ts'
import { addDemoRoutes, demoOperations } from './routes-demo.ts'
import { addEventReplayRoutes, eventReplaysOperations } from './routes-event-replays.ts'
import { addEventRoutes, eventsOperations } from './routes-events.ts'
import { addFailureRoutes, failuresOperations } from './routes-failures.ts'
import { addFlowControlRoutes, flowControlOperations } from './routes-flow-control.ts'
import { addHealthRoutes, healthOperations } from './routes-health.ts'
import { addInstanceRoutes, instancesOperations } from './routes-instances.ts'
import {
  addAuthorizationCallback,
  addIntegrationRoutes,
  callbackOperations,
  integrationOperations,
} from './routes-integrations.ts'
import { addKeyRoutes, keysOperations } from './routes-keys.ts'
import { addLaneRoutes, lanesOperations } from './routes-lanes.ts'
import { addLedgerRoutes, ledgerOperations } from './routes-ledger.ts'
import { addMetricsRoute, metricsOperations } from './routes-metrics.ts'
import { addNodeRoutes, nodeOperations } from './routes-node.ts'
import { addOrphanRoutes, orphansOperations } from './routes-orphans.ts'
import { addOverviewRoutes, overviewOperations } from './routes-overview.ts'
import { addPublishRoutes, publishOperations } from './routes-publish.ts'
import { addRefusedCodeRoutes, refusedCodeOperations } from './routes-refused-code.ts'
import { addRejectionRoutes, rejectionsOperations } from './routes-rejections.ts'
import { addReplayRoutes, replaysOperations } from './routes-replays.ts'
import { addSecretRoutes, secretsOperations } from './routes-secrets.ts'
import { addStreamRoutes, changeShape, streamOperations } from './routes-stream.ts'
import { addSubscriptionRoutes, subscriptionsOperations } from './routes-subscriptions.ts'
import { addTryRoutes, tryOperations } from './routes-try.ts'
import { addVarRoutes, varsOperations } from './routes-vars.ts'
import { addWebhookKeyRoutes, webhookKeysOperations } from './routes-webhook-keys.ts'
import { addWorkRoutes, workOperations } from './routes-work.ts'
import { addWorkflowRoutes, workflowsOperations } from './routes-workflows.ts'

/** Anyone may call them. */
export const OPEN_ROUTES = [
  { operations: healthOperations, add: addHealthRoutes },
  { operations: metricsOperations, add: addMetricsRoute },
  { operations: webhookKeysOperations, add: addWebhookKeyRoutes },
  { operations: callbackOperations, add: addAuthorizationCallback },
] as const

/** Below /v1, for those who sign in. */
export const API_ROUTES = [
  { operations: accessOperations, add: addAccessRoutes },
  { operations: keysOperations, add: addKeyRoutes },
  { operations: secretsOperations, add: addSecretRoutes },
  { operations: eventsOperations, add: addEventRoutes },
  { operations: publishOperations, add: addPublishRoutes },
  { operations: rejectionsOperations, add: addRejectionRoutes },
  { operations: flowControlOperations, add: addFlowControlRoutes },
  { operations: catalogOperations, add: addCatalogRoutes },
  { operations: workOperations, add: addWorkRoutes },
  { operations: lanesOperations, add: addLaneRoutes },
  { operations: deadLettersOperations, add: addDeadLetterRoutes },
  { operations: replaysOperations, add: addReplayRoutes },
  { operations: failuresOperations, add: addFailureRoutes },
  { operations: ledgerOperations, add: addLedgerRoutes },
  { operations: eventReplaysOperations, add: addEventReplayRoutes },
  { operations: workflowsOperations, add: addWorkflowRoutes },
  { operations: instancesOperations, add: addInstanceRoutes },
  { operations: orphansOperations, add: addOrphanRoutes },
  { operations: subscriptionsOperations, add: addSubscriptionRoutes },
  { operations: deliveriesOperations, add: addDeliveryRoutes },
  { operations: overviewOperations, add: addOverviewRoutes },
  {
    operations: streamOperations,
    add: (app: FastifyInstance, api: HttpApi) => addStreamRoutes(app, api),
  },
  { operations: demoOperations, add: addDemoRoutes },
  { operations: nodeOperations, add: addNodeRoutes },
  { operations: refusedCodeOperations, add: addRefusedCodeRoutes },
  { operations: definitionsOperations, add: addDefinitionRoutes },
  { operations: varsOperations, add: addVarRoutes },
  { operations: integrationOperations, add: addIntegrationRoutes },
  { operations: tryOperations, add: addTryRoutes },
] as const

export const ALL_OPERATIONS = [
  openApiOperations,
  ...OPEN_ROUTES.map(({ operations }) => operations),
  ...API_ROUTES.map(({ operations }) => operations),
]

/** No answer of an operation refers to them: refusals have one, and the messages of the stream have the other. */
export const OTHER_SHAPES = [problemShape, changeShape]
