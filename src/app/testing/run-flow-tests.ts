// Runs the tests beside the definitions of a folder, without a node and without the network: `millrace test`.

import type { BundleCode } from '../../adapters/code-bundle/index.ts'
import type { DefinitionDocument } from '../../core/definitions/documents/index.ts'
import { DAY } from '../../core/foundation/time/index.ts'
import {
  type FieldDifference,
  type FlowTest,
  judgeTest,
  type Observed,
} from '../../core/testing/flow-test/index.ts'
import {
  type DefinitionFile,
  type Finding,
  hasErrors,
  type LoadedFolder,
  type Place,
  type ReadTest,
} from '../../definitions/index.ts'
import { checkFlowTests, loadFolder, readFlowTests, readTestFiles } from '../../definitions/language.ts'
import { guardNetwork, withoutVendors } from './network-guard.ts'
import { observeWorld, openJobs } from './observe-world.ts'
import { sendStep } from './send-step.ts'
import { keepTestCode, makeTestCode } from './test-code.ts'
import { openTestWorld } from './test-world.ts'

export interface FlowTestsOptions {
  /** The definitions, with their tests beside them. */
  readonly folder: string
  /** Only tests whose name or file contains this, in any case. */
  readonly only?: string
}

export interface FlowTestsResult {
  /** Every test ran and passed. */
  readonly ok: boolean
  /** What is wrong with definitions or tests; with an error among them nothing ran. */
  readonly findings: readonly Finding[]
  readonly tests: readonly FlowTestResult[]
  /** What was read, to show lines of it. */
  readonly files: readonly DefinitionFile[]
}

export interface FlowTestResult extends Place {
  readonly name: string
  readonly ok: boolean
  readonly differences: readonly LocatedDifference[]
}

export interface LocatedDifference extends Place {
  readonly message: string
  readonly fields: readonly FieldDifference[]
}

/** Throws if the folder cannot be read. */
export async function runFlowTests(options: FlowTestsOptions): Promise<FlowTestsResult> {
  const release = guardNetwork()
  try {
    return await runFolder(options)
  } finally {
    release()
  }
}

async function runFolder({ folder, only = '' }: FlowTestsOptions): Promise<FlowTestsResult> {
  const code = makeTestCode()
  const testFiles = await readTestFiles(folder)
  const loaded = await withoutVendors(() => loadForTest(folder, code))
  const documents = loaded.definitions.map(({ document }) => document)
  const read = readFlowTests(testFiles)
  const files = [...loaded.files, ...testFiles]
  const findings = [
    ...loaded.findings.filter(({ severity }) => severity === 'error'),
    ...read.findings,
    ...(hasErrors(loaded.findings) ? [] : checkFlowTests(read.tests, documents)),
  ]
  if (hasErrors(findings)) return { ok: false, findings, tests: [], files }
  await withoutVendors(() => keepTestCode(code, loaded.code))
  const wanted = only.toLowerCase()
  const tests: FlowTestResult[] = []
  for (const one of read.tests) {
    if (!`${one.place.file} ${one.test.name}`.toLowerCase().includes(wanted)) continue
    tests.push(await runOne(one, loaded, code))
  }
  return { ok: tests.every(({ ok }) => ok), findings, tests, files }
}

function loadForTest(folder: string, code: BundleCode): Promise<LoadedFolder> {
  return loadFolder(folder, {
    functions: () => null,
    readCode: (path, files) => code.read(path, files),
    environment: 'DEV',
    variables: () => true,
    isEnvReadable: () => true,
  })
}

async function runOne(read: ReadTest, loaded: LoadedFolder, code: BundleCode): Promise<FlowTestResult> {
  const { test, place, placeOf } = read
  const observed = await runTest(read, loaded, code)
  const differences = judgeTest(test, observed).map(({ path, message, fields }) => ({
    ...placeOf(path),
    message,
    fields,
  }))
  return { ...place, name: test.name, ok: differences.length === 0, differences }
}

/** How long retries are waited for after the last step. */
const REST_WITHIN_MS = 2 * DAY

async function runTest(
  { test }: ReadTest,
  { definitions }: LoadedFolder,
  code: BundleCode,
): Promise<Observed> {
  const documents = definitions.map(({ document }) => document)
  const world = await openTestWorld(test, documents, code)
  const isStuck = () => world.vendors.unanswered().length > 0
  const requests: Observed['requests'][number][] = []
  for (const step of test.steps.keys()) {
    if (!isStuck()) requests.push(...(await sendStep(world, test, step, documents)))
  }
  const paused = pausedConsumers(documents, test)
  const isOver = async () =>
    isStuck() || (await openJobs(world.reads)).every(({ consumer }) => paused.has(consumer))
  await world.clock.advance(REST_WITHIN_MS, isOver)
  return { requests, ...(await observeWorld(world)) }
}

/** Time changes nothing for them. */
function pausedConsumers(
  documents: readonly DefinitionDocument[],
  { steps }: Pick<FlowTest, 'steps'>,
): ReadonlySet<string> {
  const written = documents.filter((one) => 'status' in one && one.status === 'paused')
  const paused = new Set(written.map(({ kind, name }) => `${kind.toLowerCase()}:${name}`))
  for (const step of steps) {
    if (step.type !== 'operator') continue
    const consumer = `${step.target.kind}:${step.target.name}`
    if (step.act === 'pause') paused.add(consumer)
    if (step.act === 'resume') paused.delete(consumer)
  }
  return paused
}
