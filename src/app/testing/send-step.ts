// Carries out one step of a flow test: sends a request, signed as its source asks for, publishes an event, lets time pass, or acts as a
// user does.

import {
  type DefinitionDocument,
  type SourceDocument,
  secretsOf,
} from '../../core/definitions/documents/index.ts'
import { toDraft } from '../../core/events/cloudevent/index.ts'
import { AppError } from '../../core/foundation/errors/index.ts'
import { DEFAULT_TENANT } from '../../core/foundation/ids/index.ts'
import { stringifyJson } from '../../core/foundation/json/index.ts'
import { SigningError, signedUrl, signRequest } from '../../core/ingest/source/index.ts'
import type { FlowTest, ObservedRequest, TestStep } from '../../core/testing/flow-test/index.ts'
import { operate } from './operator-step.ts'
import { secretValue } from './test-secrets.ts'
import type { TestWorld } from './test-world.ts'

const BASE = 'https://millrace.example'

type Refusal = NonNullable<ObservedRequest['refused']>
type OfType<Type extends TestStep['type']> = Extract<TestStep, { readonly type: Type }>

/** What became of each request or event of the step. */
export async function sendStep(
  world: TestWorld,
  test: FlowTest,
  step: number,
  documents: readonly DefinitionDocument[],
): Promise<readonly ObservedRequest[]> {
  const what = test.steps[step] as TestStep
  const { clock, vendors } = world
  const isStuck = () => vendors.unanswered().length > 0
  if (what.type === 'wait') {
    await clock.advance(what.ms, isStuck)
    return []
  }
  if (what.type === 'operator') {
    const refused = await operate(world, what)
    await clock.advance(0, isStuck)
    return [{ step, refused }]
  }
  const requests: ObservedRequest[] = []
  for (let time = 0; time < what.times && !isStuck(); time += 1) {
    const id = `test-${step + 1}-${time + 1}`
    const refused =
      what.type === 'event' ? await publish(world, what, id) : await request(world, test, what, documents, id)
    requests.push({ step, refused })
    // What this causes comes before what is sent next.
    await clock.advance(0, isStuck)
  }
  return requests
}

async function publish(world: TestWorld, step: OfType<'event'>, id: string): Promise<Refusal | null> {
  const drafted = toDraft({
    id: step.id ?? id,
    source: 'test',
    type: step.subject,
    subject: step.objectId,
    time: null,
    datacontenttype: null,
    dataschema: null,
    extensions: {},
    data: { form: 'json', text: stringifyJson(step.data) },
  })
  if (!drafted.ok) {
    const message = drafted.faults.map((fault) => `${fault.attribute}: ${fault.message}`).join('; ')
    return { code: 'invalid_request', message }
  }
  const [published] = await world.settled(world.engine.publish(DEFAULT_TENANT, [drafted.draft]))
  return published === undefined || published.ok ? null : refusalOf(published.error)
}

async function request(
  world: TestWorld,
  test: FlowTest,
  step: OfType<'request'>,
  documents: readonly DefinitionDocument[],
  id: string,
): Promise<Refusal | null> {
  const source = documents.find(
    (one): one is SourceDocument => one.kind === 'Source' && one.name === step.source,
  )
  const body = new TextEncoder().encode(step.body)
  const target = `/in/${DEFAULT_TENANT}/${encodeURIComponent(step.source)}`
  let headers = step.headers
  let url = `${BASE}${target}`
  if (step.isSigned && source !== undefined) {
    const { verify } = source
    const [ref] = secretsOf(verify)
    const secret = ref === undefined ? '' : secretValue(test.given.secrets, ref)
    try {
      url = signedUrl(verify, url, headers, body)
      const signature = signRequest(verify, {
        method: 'POST',
        url,
        now: world.clock.now(),
        id,
        headers,
        body,
        secret,
      })
      headers = { ...headers, ...signature }
    } catch (error) {
      if (!(error instanceof SigningError)) throw error
      const message = `the made-up secret cannot sign: ${error.message}; write one under \`given.secrets\``
      return { code: 'signature_wrong', message }
    }
  }
  try {
    await world.settled(
      world.engine.receive({
        tenant: DEFAULT_TENANT,
        source: step.source,
        headers,
        body,
        method: 'POST',
        target: url.slice(BASE.length),
        publicUrl: url,
      }),
    )
    return null
  } catch (error) {
    if (error instanceof AppError) return refusalOf(error)
    throw error
  }
}

function refusalOf({ code, message }: AppError): Refusal {
  return { code, message }
}
