// millrace check | plan | apply | rollback | pause | resume | disable: deploys definitions from a folder. `check` needs
// no node: it reads the folder with the same code.

import type { Command } from 'commander'
import type { makeCheckDeps as MakeCheckDeps } from '../../app.ts'
import { readVarSettings, SETTINGS } from '../../config/index.ts'
import type { DefinitionFile, Finding } from '../../definitions/index.ts'
import { type Answer, type Cli, handle, type Session } from '../command.ts'
import { resolveFolder } from '../definitions-folder.ts'
import { CliError, EXIT, usageError } from '../failure.ts'
import { confirm } from '../input.ts'
import { addList, type Columns } from '../resource.ts'
import { count } from '../text.ts'

type Plan = Answer<'planDefinitions'>
type Applied = Answer<'applyDefinitions'>
type Item = Answer<'listDefinitions'>['items'][number]

interface ApplyOptions {
  readonly prune?: boolean
  readonly yes?: boolean
  readonly reason?: string
}

const FOLDER = 'a folder of definitions; left out: MILLRACE_FLOWS, or ./flows'

export function addDefinitionCommands(program: Command, cli: Cli): void {
  const check = program
    .command('check')
    .argument('[folder]', FOLDER)
    .description('read definitions and report every finding; needs no node')
  handle(check, cli, (session, _options, folder) => checkFolder(session, folder), { isLocal: true })

  const plan = program
    .command('plan')
    .argument('[folder]', FOLDER)
    .description('show what applying the folder would change')
    .option('--prune', 'also remove definitions that the folder no longer contains')
  handle<ApplyOptions>(plan, cli, async (session, { prune = false }, folder) => {
    const { files, functions, findings } = await readFiles(session, folder)
    const answer = await planFiles(session, { files, functions, findings, prune })
    session.show(answer, () => printPlan(session, answer, files))
    return answer.ok ? EXIT.ok.code : EXIT.findings.code
  })

  const apply = program
    .command('apply')
    .argument('[folder]', FOLDER)
    .description('deploy the folder, after showing the changes')
    .option('--prune', 'also remove definitions that the folder no longer contains')
    .option('--reason <text>', 'the reason (recorded)')
    .option('-y, --yes', 'do not ask for confirmation')
  handle<ApplyOptions>(apply, cli, applyFolder)

  const rollback = program
    .command('rollback')
    .argument('<version>', 'a number from ‘millrace versions’')
    .description('deploy an earlier version of all definitions')
    .option('--reason <text>', 'the reason (recorded)')
  handle<ApplyOptions>(rollback, cli, async (session, { reason }, version) => {
    if (!/^\d{1,9}$/.test(String(version)))
      throw usageError(`‘${version}’ is not a version`, 'Write its number.')
    const body = { to: Number(version), ...(reason !== undefined && { reason }) }
    const answer = await session.api.post<Applied>('/v1/definitions/rollback', body)
    session.show(answer, () => {
      printApplied(session, answer)
      for (const { severity, message } of answer.findings) session.out.line(`${severity}: ${message}`)
    })
  })

  const versions = program
    .command('versions')
    .description('list the versions of the definitions, newest first')
  addList(versions, cli, {
    operation: 'listDefinitionVersions',
    isWhole: true,
    columns: [
      ['VERSION', (one) => one.version, 'right'],
      ['APPLIED', (one, { out }) => out.time(one.appliedAt)],
      ['BY', (one) => one.by, 8],
      ['CHANGES', (one) => one.changes, 'right'],
      ['HASH', (one) => one.hash, 16],
    ],
  })

  const definitions = program
    .command('definitions')
    .argument('[name]', 'one definition; if several have the name, <kind>/<name>')
    .description('list the deployed definitions, or print one as YAML')
  const columns: Columns<Item> = [
    ['KIND', (one) => one.kind],
    ['NAME', (one) => one.name, 12],
    ['STATUS', (one, { out }) => (one.status === null ? '' : out.state(one.status))],
    ['BY', (one) => one.managedBy],
    ['LISTENS TO', (one) => one.on?.join(', ') ?? one.subject ?? '', 16],
    ['DESCRIPTION', (one) => one.description ?? '', 16],
  ]
  addList(definitions, cli, { operation: 'listDefinitions', isWhole: true, columns }, printDefinition)

  for (const [verb, description] of [
    [
      'pause',
      'pause a route or source (events are stored, and their jobs wait) or a poller (it asks for nothing)',
    ],
    ['resume', 'resume a route, source or poller, with everything that waited'],
    ['disable', 'disable a route (skip its jobs), a source (refuse its senders) or a poller'],
  ] as const) {
    const command = program
      .command(verb)
      .argument(
        '<name>',
        'a route, source or poller; if several have the name, route/<name>, source/<name> or poller/<name>',
      )
      .description(description)
      .option('--reason <text>', 'the reason (recorded)')
    handle<{ reason?: string }>(command, cli, async (session, { reason }, name) => {
      const item = await findDefinition(session, String(name), ['route', 'source', 'poller'])
      const path = `/v1/definitions/${item.kind}/${encodeURIComponent(item.name)}/${verb}`
      const answer = await session.api.post<Item>(path, reason === undefined ? {} : { reason })
      session.show(answer, () => session.out.line(`${answer.kind} ${answer.name} is ${answer.status}`))
    })
  }
}

// --- The folder

interface FolderFiles {
  /** The folder's files, and the definitions of its code, as YAML under the name of their file. */
  readonly files: readonly DefinitionFile[]
  readonly functions: readonly { readonly name: string; readonly hash: string; readonly timeoutMs?: number }[]
  /** What is wrong with the code itself: nothing of it can be sent then. */
  readonly findings: readonly Finding[]
}

async function readFiles(session: Session, given: string | undefined): Promise<FolderFiles> {
  const folder = resolveFolder(session, given)
  const { readCodeFiles, readFolder, loadFolder } = await import('../../definitions/language.ts')
  const files = await readable(folder, () => readFolder(folder))
  // Bundling takes a second: only if there is code.
  if ((await readCodeFiles(folder)).length === 0) return { files, functions: [], findings: [] }
  const { makeCheckDeps } = await import('../../app.ts')
  const deps = makeCheckDeps(environmentOf(session), busPrefixOf(session), session.env, allowedIn(session))
  const loaded = await readable(folder, () => loadFolder(folder, deps))
  const texts = new Map<string, string[]>()
  const own = new Set(files.map(({ path }) => path))
  for (const { authored } of loaded.definitions) {
    if (!own.has(authored.path))
      texts.set(authored.path, [...(texts.get(authored.path) ?? []), authored.text])
  }
  return {
    files: [
      ...files,
      ...[...texts].map(([path, all]) => ({ path: `${path}.yaml`, text: all.join('---\n') })),
    ],
    functions: [...loaded.functions].map(([name, { codeHash: hash, timeoutMs, emits }]) => ({
      name,
      hash,
      emits,
      ...(timeoutMs === null ? {} : { timeoutMs }),
    })),
    findings: loaded.findings.filter(({ file, severity }) => severity === 'error' && !own.has(file)),
  }
}

/** The node's plan, or, if the folder's code cannot be used, what is wrong with it. */
async function planFiles(
  { api }: Session,
  { findings, ...body }: FolderFiles & { readonly prune: boolean },
): Promise<Plan> {
  if (findings.length > 0)
    return { ok: false, findings: [...findings], base: 0, managedBy: 'api', changes: [], touched: [] } as Plan
  return api.post<Plan>('/v1/definitions/plan', body)
}

function environmentOf(session: Session): 'DEV' | 'QA' | 'PROD' {
  const set = session.env.MILLRACE_ENV?.trim()
  return set === 'QA' || set === 'PROD' ? set : 'DEV'
}

export async function readable<Value>(folder: string, read: () => Promise<Value>): Promise<Value> {
  try {
    return await read()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') throw usageError(`${folder} is not a folder`)
    throw new CliError(message)
  }
}

async function checkFolder(session: Session, given: string | undefined): Promise<number> {
  const folder = resolveFolder(session, given)
  const { loadFolder, formatFindings, hasErrors } = await import('../../definitions/language.ts')
  // Code is bundled and loaded as a node would do it.
  const { makeCheckDeps } = await import('../../app.ts')
  const loaded = await readable(folder, () =>
    loadFolder(
      folder,
      makeCheckDeps(environmentOf(session), busPrefixOf(session), session.env, allowedIn(session)),
    ),
  )
  const { definitions, findings, proofs, files } = loaded
  const ok = !hasErrors(findings)
  session.show({ ok, findings, proofs }, () => {
    const { out } = session
    if (findings.length > 0) out.line(formatFindings(findings, files).trimEnd())
    for (const { workflow, says } of proofs) out.line(`workflow ${workflow}: ${says}`)
    if (ok)
      out.line(`${count(definitions.length, 'definition')} in ${count(files.length, 'file')}: no errors`)
  })
  return ok ? EXIT.ok.code : EXIT.findings.code
}

/** As on the nodes that the definitions are for, if it is set here. */
function busPrefixOf({ env }: Session): string | undefined {
  const text = env[SETTINGS.natsPrefix.env]?.trim() ?? ''
  if (text === '') return undefined
  const prefix = SETTINGS.natsPrefix.parse(text, { environment: 'DEV', dataFolder: '' })
  if (typeof prefix === 'string') return prefix
  throw usageError(`${SETTINGS.natsPrefix.env} cannot be ‘${text}’`, prefix.text)
}

/** What definitions may read of the environment and of the bus on a node with this environment. */
function allowedIn(session: Session): Parameters<typeof MakeCheckDeps>[3] {
  const isSet = (name: string) => (session.env[name]?.trim() ?? '') !== ''
  const context = { environment: environmentOf(session), dataFolder: '' }
  const read = <Value>(setting: Listed<Value>): readonly Value[] | null => {
    const text = isSet(setting.env) ? session.env[setting.env]?.trim() : setting.default?.(context)
    if (text === null || text === undefined) return null
    const list = setting.parse(text, context)
    if (Array.isArray(list)) return list
    throw usageError(`${setting.env} cannot be ‘${text}’`, (list as { readonly text: string }).text)
  }
  const { secretEnv, natsStreams, natsServers } = SETTINGS
  const hasBus = isSet(natsServers.env) || isSet(natsStreams.env)
  const vars = readVarSettings(session.env, (setting, message) => {
    throw usageError(`${setting} cannot be used`, message)
  })
  return { secretEnv: read(secretEnv), streams: hasBus ? read(natsStreams) : undefined, vars }
}

type Context = { readonly environment: 'DEV' | 'QA' | 'PROD'; readonly dataFolder: string }
interface Listed<Value> {
  readonly env: string
  readonly default?: (context: Context) => string | null
  parse(text: string, context: Context): readonly Value[] | { readonly text: string }
}

// --- Plan and apply

async function applyFolder(session: Session, options: ApplyOptions, given?: string): Promise<number> {
  const { api, out } = session
  const { prune = false, reason } = options
  // Functions come only from the node's folder: a plan here does not assume functions that the node does not have yet.
  const { files, findings } = await readFiles(session, given)
  const plan = await planFiles(session, { files, functions: [], findings, prune })
  if (!plan.ok) {
    session.show(plan, () => printPlan(session, plan, files))
    return EXIT.findings.code
  }
  const changes = plan.changes.filter(({ change }) => change !== 'unchanged')
  if (!session.isJson) printPlan(session, plan, files)
  if (changes.length === 0) {
    if (session.isJson) out.json({ version: plan.base, changes: [] })
    return EXIT.ok.code
  }
  await confirm(session, `Apply ${count(changes.length, 'change')}?`, options.yes === true)
  const answer = await api.post<Applied>('/v1/definitions/apply', {
    files,
    prune,
    // Exactly what was shown is applied, or nothing is.
    ...(plan.base !== null && { base: plan.base }),
    ...(reason !== undefined && { reason }),
  })
  session.show(answer, () => printApplied(session, answer))
  return EXIT.ok.code
}

const MARKS = { create: '+', update: '~', remove: '-', unchanged: ' ' } as const

function printPlan(session: Session, plan: Plan, files: readonly DefinitionFile[]): void {
  const { out } = session
  for (const finding of plan.findings) {
    const { file, line, column, severity, rule, message, suggestion } = finding
    out.line(`${file}:${line}:${column} ${severity} ${rule}: ${message}`)
    const text = files.find(({ path }) => path === file)?.text.split(/\r?\n/)[line - 1]
    if (text !== undefined && text.length < 200) out.line(`  ${line} | ${text}`)
    if (suggestion !== undefined) out.line(`  write: ${suggestion}`)
  }
  if (!plan.ok) return
  const changes = plan.changes.filter(({ change }) => change !== 'unchanged')
  for (const { kind, name, change, diff = [] } of changes) {
    const paint = out.state(change).paint ?? String
    out.line(paint(`${MARKS[change]} ${change} ${kind} ${name}`))
    if (change !== 'update') continue
    for (const { op, text } of diff) {
      const line = `    ${op} ${text}`
      out.line(op === '+' ? out.colors.green(line) : op === '-' ? out.colors.red(line) : out.colors.dim(line))
    }
  }
  for (const { var: name, readers } of plan.touched) {
    const all = readers.map(({ kind, name: of }) => `${kind} ${of}`).join(', ')
    out.line(`vars.${name} changes: ${all === '' ? 'nothing reads it' : `read by ${all}`}`)
  }
  const same = plan.changes.length - changes.length
  if (changes.length === 0) out.line(`Nothing changes; ${count(same, 'definition')} stay as they are.`)
  else out.line(`${count(changes.length, 'change')}, ${same} unchanged`)
  if (plan.managedBy === 'folder')
    out.line(
      'The folder of the node defines these: the node applies them at its next start, in DEV as soon as a file is saved.',
    )
}

function printApplied(session: Session, applied: Applied): void {
  session.out.line(`version ${applied.version} is deployed (${applied.hash})`)
}

// --- What is deployed

const KINDS = ['route', 'source', 'poller', 'workflow', 'agent', 'subscription', 'profile']

async function findDefinition(session: Session, given: string, allowed: readonly string[]): Promise<Item> {
  const written = /^(source|route|poller|workflow|agent|subscription|profile)\/(.+)$/i.exec(given)
  const kinds = written === null ? allowed : allowed.filter((kind) => kind === written[1]?.toLowerCase())
  const name = written?.[2] ?? given
  const { items } = await session.api.get<Answer<'listDefinitions'>>('/v1/definitions')
  const found = items.filter((item) => item.name === name && kinds.includes(item.kind.toLowerCase()))
  if (found.length === 1) return found[0] as Item
  if (found.length > 1) {
    throw new CliError(`‘${name}’ is a ${found.map(({ kind }) => kind).join(' and a ')}`, {
      ending: 'usage',
      next: `Write ${found.map(({ kind }) => `${kind.toLowerCase()}/${name}`).join(' or ')}.`,
    })
  }
  if (items.some((item) => item.name === name && item.kind === 'Subscription')) {
    throw new CliError(`${name} is a subscription`, {
      ending: 'usage',
      next: `Write ‘millrace subscriptions pause ${name}’, disable or enable.`,
    })
  }
  throw new CliError(`there is no ${(kinds.length > 0 ? kinds : allowed).join(' or ')} ‘${name}’`, {
    ending: 'notFound',
    next: '‘millrace definitions’ lists the deployed ones.',
  })
}

async function printDefinition(session: Session, name: string): Promise<void> {
  const item = await findDefinition(session, name, KINDS)
  const path = `/v1/definitions/${item.kind}/${encodeURIComponent(item.name)}`
  const answer = await session.api.get<Answer<'getDefinition'>>(path)
  session.show(answer, () => session.out.line((answer.yaml ?? '').trimEnd()))
}
