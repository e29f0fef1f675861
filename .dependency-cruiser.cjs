// Who may import whom. Each comment ends with the fix, because a rule that only says no is half a rule.
// Tests (`*.test.ts`), conformance suites, sim, bench and test may import anything but stay free of cycles.
const path = require('node:path')

const testOnly = '\\.(test|conformance|fixture)\\.ts$'
/** What makes files from the declarations of the routes; a node loads what was made. */
const generatorOnly = '^src/http/(schema-kit|json-schema|openapi-document)\\.ts$'
const folders = (...names) => `^src/(${names.join('|')})(/|\\.ts$)`
const npm = '^node_modules/'
const npmOf = (...names) => `^node_modules/(@types/)?(${names.join('|')})/`
const builtIn = ['core']

/** `from` may import of our own code only `ours` (and itself). */
const mayImport = (from, ours, fix) => ({
  name: `${from}-imports`,
  severity: 'error',
  comment: `src/${from} imports of our own code only ${[from, ...ours].join(', ')}. Fix: ${fix}`,
  from: { path: folders(from), pathNot: testOnly },
  to: { path: '^(src|sim|bench|test|scripts|console|solutions|examples)/', pathNot: folders(from, ...ours) },
})

/** `from` may import of npm only `packages`, of Node only `modules`. */
const mayUse = (from, packages, modules, fix) => [
  {
    name: `${from}-packages`,
    severity: 'error',
    comment: `src/${from} uses of npm only ${packages.join(', ') || 'nothing'}. Fix: ${fix}`,
    from: { path: folders(from), pathNot: testOnly },
    to: { path: npm, ...(packages.length > 0 && { pathNot: npmOf(...packages) }) },
  },
  {
    name: `${from}-node`,
    severity: 'error',
    comment: `src/${from} uses of Node only ${modules.map((name) => `node:${name}`).join(', ') || 'nothing'}. Fix: ${fix}`,
    from: { path: folders(from), pathNot: testOnly },
    to: {
      dependencyTypes: builtIn,
      ...(modules.length > 0 && { pathNot: `^(node:)?(${modules.join('|')})$` }),
    },
  },
]

/** The groups of src/core, each with the groups that it may import. Every line names only groups that come before it. */
const CORE = {
  foundation: '',
  access: 'foundation',
  secrets: 'foundation',
  expression: 'foundation secrets',
  events: 'foundation expression',
  failures: 'foundation events',
  definitions: 'foundation secrets expression events failures',
  effects: 'foundation access secrets expression events failures definitions',
  queue: 'foundation expression failures definitions effects',
  'flow-control': 'foundation failures definitions queue',
  connections: 'foundation expression events failures definitions effects flow-control',
  ingest: 'foundation access expression events definitions effects',
  routing: 'foundation expression events definitions effects queue',
  polling: 'foundation expression events definitions effects ingest routing',
  workflows: 'foundation expression definitions effects queue routing',
  store: 'foundation events failures definitions effects queue workflows',
  webhooks: 'foundation expression events failures definitions effects queue routing',
  testing: 'foundation',
}

/**
 * The folders of src/engine, each with the folders that it may import beside src/engine/config.ts. Every line names only folders that
 * come before it, so no two folders need each other.
 */
const ENGINE = {
  commit: '',
  retention: '',
  access: '',
  outbox: 'commit',
  leases: 'commit',
  secrets: 'commit leases',
  definitions: 'commit secrets',
  events: 'commit leases secrets',
  observe: 'commit secrets definitions',
  settlement: 'commit access leases secrets definitions events',
  planning: 'commit leases secrets definitions events observe settlement',
  effects: 'commit leases secrets events observe settlement',
  'flow-control': 'commit leases definitions events settlement effects',
  connections: 'commit leases secrets definitions events observe settlement effects flow-control',
  webhooks:
    'commit access leases secrets definitions events observe settlement planning effects flow-control',
  ingest:
    'commit leases secrets definitions events observe settlement planning effects flow-control webhooks',
  workflows:
    'commit access leases secrets definitions events observe settlement planning effects flow-control ingest',
  pollers: 'commit leases definitions events settlement effects connections ingest',
  'dead-letters':
    'commit access secrets definitions events observe settlement planning effects connections webhooks ingest workflows pollers',
  queue:
    'commit access leases secrets definitions observe settlement planning effects flow-control connections webhooks ingest workflows pollers dead-letters',
}

const namesOf = (list) => list.split(' ').filter(Boolean)

/** One rule per group of src/core. */
const coreGroups = Object.entries(CORE).map(([name, others]) => ({
  name: `core-${name}-imports`,
  severity: 'error',
  comment: `src/core/${name} imports of the core only ${[...namesOf(others), name].join(', ')}. Fix: move what both groups need to the lower one.`,
  from: { path: `^src/core/${name}/`, pathNot: testOnly },
  to: { path: '^src/core/', pathNot: `^src/core/(${[name, ...namesOf(others)].join('|')})/` },
}))

/** One rule per folder of src/engine. */
const engineFolders = Object.entries(ENGINE).map(([name, others]) => ({
  name: `engine-${name}-imports`,
  severity: 'error',
  comment: `src/engine/${name} imports of the engine only config.ts, ${[...namesOf(others), name].join(', ')}. Fix: move what both folders need to the lower one, or declare the interface beside its consumer.`,
  from: { path: `^src/engine/${name}/`, pathNot: testOnly },
  to: {
    path: '^src/engine/',
    pathNot: `^src/engine/(config\\.ts$|(${[name, ...namesOf(others)].join('|')})/)`,
  },
}))

/** What others may import of a folder. In src/core it is a folder of a group, or a group without folders. */
const surface = ['^src/(core|adapters|engine)/[^/]+/index\\.ts$', '^src/core/[^/]+/[^/]+/index\\.ts$']

const behindPort =
  'put the I/O behind a port in src/ports, implement it in src/adapters, and let app.ts pass it in.'

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      comment:
        'Modules must not import each other in a circle. Fix: move what both need into a module of its own.',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-unresolved',
      severity: 'error',
      comment:
        'The imported module does not exist. Fix: correct the path (with its .ts ending) or add the package.',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-undeclared-packages',
      severity: 'error',
      comment:
        'The package is not in package.json. Fix: add it with its exact version, or use what is there.',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'no-development-packages',
      severity: 'error',
      comment:
        'Code that ships must not use a development package. Fix: move it to "dependencies", or the code to a test.',
      from: { path: '^src/', pathNot: testOnly },
      to: {
        dependencyTypes: ['npm-dev'],
        dependencyTypesNot: ['type-only'],
        pathNot: '^node_modules/@types/',
      },
    },
    {
      name: 'no-test-code',
      severity: 'error',
      comment:
        'Code that ships must not import tests or conformance suites. Fix: move the shared part out of the test.',
      from: { path: '^src/', pathNot: testOnly },
      to: { path: testOnly },
    },

    mayImport('core', [], 'pass the value in as an argument, or move the pure part into src/core.'),
    ...coreGroups,
    {
      name: 'core-groups-known',
      severity: 'error',
      comment:
        'Every folder of src/core is in a group of the table at the top of .dependency-cruiser.cjs. Fix: put it into a group, or add the group there.',
      from: { path: '^src/core/', pathNot: [`^src/core/(${Object.keys(CORE).join('|')})/`, testOnly] },
      to: { path: '.' },
    },
    ...mayUse('core', ['re2js', 'ipaddr.js', 'croner'], ['crypto'], behindPort),
    mayImport('ports', ['core'], 'a port speaks in types of src/core; move the type there.'),
    ...mayUse(
      'ports',
      [],
      [],
      'a port is a contract without an implementation; move the implementation to src/adapters.',
    ),
    mayImport(
      'engine',
      ['core', 'ports'],
      'ask for a port in the parameters and let app.ts pass the implementation.',
    ),
    ...mayUse('engine', [], ['crypto', 'assert'], behindPort),
    ...engineFolders,
    {
      name: 'engine-folders-known',
      severity: 'error',
      comment:
        'Every folder of src/engine is in the table at the top of .dependency-cruiser.cjs. Fix: add the folder there, with what it may import.',
      from: {
        path: '^src/engine/[^/]+/',
        pathNot: [`^src/engine/(${Object.keys(ENGINE).join('|')})/`, testOnly],
      },
      to: { path: '.' },
    },
    {
      name: 'engine-config-imports',
      severity: 'error',
      comment:
        'src/engine/config.ts is the ground of the engine and imports none of its folders. Fix: move the type to src/core or src/ports.',
      from: { path: '^src/engine/config\\.ts$' },
      to: { path: '^src/engine/' },
    },
    mayImport(
      'adapters',
      ['core', 'ports'],
      'an adapter knows its port and its driver; move the rest to src/core.',
    ),
    {
      name: 'adapter-to-adapter',
      severity: 'error',
      comment: 'An adapter never imports another adapter. Fix: move what both need to src/core.',
      from: { path: '^src/adapters/([^/]+)/', pathNot: testOnly },
      to: { path: '^src/adapters/', pathNot: '^src/adapters/$1/' },
    },
    mayImport(
      'connectors',
      ['core', 'ports'],
      'a connector gets its HTTP client and secrets passed in as ports.',
    ),
    {
      name: 'definitions-imports',
      severity: 'error',
      comment:
        'src/definitions imports of our own code only core, connectors/index.ts and connectors/*/manifest.ts. Fix: move the pure part to src/core, the connector fact to its manifest.',
      from: { path: folders('definitions'), pathNot: testOnly },
      to: {
        path: '^(src|sim|bench|test|scripts|console|solutions|examples)/',
        pathNot: '^src/(definitions/|core/|connectors/index\\.ts$|connectors/[^/]+/manifest\\.ts$)',
      },
    },
    ...mayUse(
      'definitions',
      ['yaml', 'zod'],
      ['crypto', 'path', 'fs', 'fs/promises'],
      'keep reading definitions small, or move the work to an adapter.',
    ),
    mayImport(
      'http',
      ['engine', 'core', 'ports', 'definitions', 'config'],
      'ask for what the route needs in its parameters; app.ts passes it.',
    ),
    {
      name: 'http-zod-types-only',
      severity: 'error',
      comment:
        'Where requests are served zod is not loaded: a declaration takes the kit as its argument. Fix: `import type`, or use the kit of schema-kit.ts.',
      from: { path: '^src/', pathNot: [testOnly, generatorOnly, '^src/(definitions|sdk)/'] },
      to: { path: ['^node_modules/zod/', generatorOnly], dependencyTypesNot: ['type-only'] },
    },
    mayImport(
      'cli',
      ['engine', 'core', 'ports', 'definitions', 'config', 'sdk', 'demo', 'app'],
      'let app.ts build it and hand it to the command.',
    ),
    mayImport('demo', ['core'], 'the demo meets the node over HTTP, as everybody else; app.ts starts it.'),
    mayImport('config', ['core', 'ports'], 'settings are data; what acts on them lives elsewhere.'),
    mayImport('telemetry', ['core', 'ports'], 'telemetry implements ports; app.ts connects it.'),
    mayImport(
      'app',
      [
        'core',
        'ports',
        'engine',
        'adapters',
        'connectors',
        'definitions',
        'http',
        'config',
        'telemetry',
        'sdk',
        'demo',
      ],
      'the command line calls app.ts, not the other way round.',
    ),
    {
      name: 'sdk-imports',
      severity: 'error',
      comment:
        'src/sdk imports of our own code only types of core, so that users get no engine with it. Fix: `import type`, or move the code.',
      from: { path: folders('sdk'), pathNot: testOnly },
      to: { path: '^(src|sim|bench|test|scripts)/', pathNot: ['^src/sdk/', '^src/core/'] },
    },
    {
      name: 'sdk-core-types-only',
      severity: 'error',
      comment:
        'src/sdk imports only types from src/core. Fix: write `import type`, or move the code into src/sdk.',
      from: { path: folders('sdk'), pathNot: testOnly },
      to: { path: '^src/core/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'client-alone',
      severity: 'error',
      comment:
        'src/sdk/client runs in browsers and imports nothing but itself. Fix: use what fetch and the language bring, or pass it in.',
      from: { path: '^src/sdk/client/', pathNot: testOnly },
      to: { path: '.', pathNot: '^src/sdk/client/' },
    },
    {
      name: 'public-exports-only',
      severity: 'error',
      comment:
        'console, solutions and examples use only what users can import. Fix: import from the package, or export it in src/sdk.',
      from: { path: '^(console|solutions|examples)/', pathNot: testOnly },
      to: { path: '^(src|sim|bench|test|scripts)/', pathNot: '^src/sdk/' },
    },

    {
      name: 'folder-surface',
      severity: 'error',
      comment:
        "A folder's surface is its index.ts. Fix: import from the folder's index.ts, and name the export there.",
      from: { path: '^src/', pathNot: ['^src/(core|adapters|engine)/[^/]+/', testOnly] },
      to: { path: '^src/(core|adapters|engine)/[^/]+/.+', pathNot: surface },
    },
    {
      name: 'folder-surface-between-folders',
      severity: 'error',
      comment:
        "A folder's surface is its index.ts. Fix: import from the folder's index.ts, and name the export there.",
      from: { path: '^(src/(?:adapters|engine)/[^/]+|src/core/[^/]+/[^/]+)/', pathNot: testOnly },
      to: { path: '^src/(core|adapters|engine)/[^/]+/.+', pathNot: ['^$1/', ...surface] },
    },
    {
      name: 'folder-surface-between-groups',
      severity: 'error',
      comment:
        "A folder's surface is its index.ts. Fix: import from the folder's index.ts, and name the export there.",
      from: { path: '^(src/core/[^/]+)/[^/]+\\.ts$', pathNot: testOnly },
      to: { path: '^src/(core|adapters|engine)/[^/]+/.+', pathNot: ['^$1/', ...surface] },
    },
    {
      name: 'folder-surface-inside',
      severity: 'error',
      comment:
        "A folder's surface is its index.ts, also within a folder of src/engine. Fix: import from the inner folder's index.ts, and name the export there.",
      from: { path: '^src/engine/[^/]+/[^/]+\\.ts$', pathNot: testOnly },
      to: { path: '^src/engine/[^/]+/[^/]+/.+', pathNot: '/index\\.ts$' },
    },
    {
      name: 'folder-surface-between-inner-folders',
      severity: 'error',
      comment:
        "A folder's surface is its index.ts, also within a folder of src/engine. Fix: import from the inner folder's index.ts, and name the export there.",
      from: { path: '^(src/engine/[^/]+/[^/]+)/', pathNot: testOnly },
      to: { path: '^src/engine/[^/]+/[^/]+/.+', pathNot: ['^$1/', '/index\\.ts$'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(dist|data|\\.cache)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: path.join(__dirname, 'tsconfig.json') },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
    skipAnalysisNotInRules: false,
  },
}
