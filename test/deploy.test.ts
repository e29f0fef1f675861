// Checks the files in deploy against the code: settings, paths, figures, ports, roles and times. No container is
// started here; deploy.slow.test.ts runs the contents of the image.

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { backlogGauges } from '../src/app/metric-gauges.ts'
import { readSecretFiles, resolveConfig, SETTINGS } from '../src/config/index.ts'
import { ROLES } from '../src/core/queue/node-role/index.ts'
import { project } from './support/node-process.ts'

// biome-ignore lint/suspicious/noExplicitAny: what others' schemas describe; each test says what it needs of it.
type Tree = any

const read = (path: string) => readFileSync(join(project, 'deploy', path), 'utf8')
const kubernetes: readonly Tree[] = readdirSync(join(project, 'deploy/kubernetes'))
  .filter((name) => name.endsWith('.yaml'))
  .flatMap((name) =>
    parseAllDocuments(read(`kubernetes/${name}`)).map((one) => one.toJS({ maxAliasCount: 9 })),
  )
const compose: Tree = parse(read('compose.yaml'), { merge: true })
const ofKind = (kind: string) => kubernetes.filter((one) => one.kind === kind)
const deployments = ofKind('Deployment')
const shared: Record<string, string> = ofKind('ConfigMap')[0].data

/** The settings of a node of each kind; secrets have a valid form. */
const SECRETS: Readonly<Record<string, string>> = {
  MILLRACE_STORE: 'postgres://millrace@db/millrace',
  MILLRACE_MASTER_KEY: createHash('sha256').update('a key of the tests').digest('base64'),
  MILLRACE_ADMIN_KEY: 'a-key-of-more-than-twenty-characters',
}
function envOf(deployment: Tree): Record<string, string> {
  const [container] = deployment.spec.template.spec.containers
  const env: Record<string, string> = { ...shared }
  for (const { name, value, valueFrom } of container.env) {
    env[name] = value ?? (valueFrom.fieldRef ? 'pod-1' : SECRETS[name])
  }
  return env
}
const nodes: readonly (readonly [string, Record<string, string>, number])[] = [
  ...deployments.map((one) => {
    const seconds: number = one.spec.template.spec.terminationGracePeriodSeconds
    return [one.metadata.name, envOf(one), seconds] as const
  }),
  ...['front', 'back'].map((name) => {
    const { environment, stop_grace_period: grace } = compose.services[name]
    const filesOf = (path: string) =>
      SECRETS[`MILLRACE_${path.split('/').at(-1)?.toUpperCase().replace('STORE_URL', 'STORE')}`] ?? ''
    const { env, findings } = readSecretFiles(environment, filesOf)
    expect(findings).toEqual([])
    return [`compose ${name}`, env as Record<string, string>, Number.parseInt(grace, 10)] as const
  }),
]

describe('settings of nodes', () => {
  test.each(nodes)('[DE4] [DE5] %s: valid settings, and time to stop', (_, env, graceSeconds) => {
    const resolved = resolveConfig(env)
    expect(resolved).toMatchObject({ ok: true, warnings: [] })
    if (!resolved.ok) return
    const { config } = resolved
    expect(config.store.kind).toBe('postgres')
    expect(graceSeconds * 1_000).toBeGreaterThan(config.drainDelayMs + config.shutdownMs)
  })

  test('[VA22] [DE4] keys of nodes in the compose file are outside the folder that definitions read', () => {
    for (const name of ['front', 'back']) {
      const { environment, secrets } = compose.services[name]
      const folder = `${environment.MILLRACE_SECRETS_DIR}/`
      const files = Object.keys(environment).filter((key) => key.endsWith('_FILE'))
      expect(files.length).toBeGreaterThan(2)
      const targets = secrets.map(({ target }: Tree) => target)
      for (const file of files) {
        expect(targets).toContain(environment[file])
        expect(environment[file].startsWith(folder), file).toBe(false)
      }
    }
  })

  test('[DE4] the image names only existing settings', () => {
    const known = new Set<string>(Object.values(SETTINGS).map(({ env }) => env))
    const named = [...read('Dockerfile').matchAll(/\b(MILLRACE_[A-Z_]+)/g)].map((match) => String(match[1]))
    expect(named.length).toBeGreaterThan(3)
    expect(named.filter((name) => !known.has(name))).toEqual([])
  })

  test('[DE6] together they have every role', () => {
    for (const place of [
      nodes.filter(([name]) => !name.startsWith('compose')),
      nodes.filter(([name]) => name.startsWith('compose')),
    ]) {
      const roles = place.flatMap(([, env]) => String(env.MILLRACE_ROLES).split(','))
      expect(new Set(roles)).toEqual(new Set(ROLES))
    }
  })
})

describe('how they are run', () => {
  test('[DE4] every image is named by its version', () => {
    const images = [
      ...[...read('Dockerfile').matchAll(/^FROM (\S+)/gm)].map((match) => match[1]),
      ...Object.values<Tree>(compose.services).map(({ image }) => image),
      ...deployments.map((one) => one.spec.template.spec.containers[0].image),
    ]
    expect(images.length).toBeGreaterThan(8)
    expect(images.filter((image) => !/^[a-z/]+:\d+\.\d+(\.\d+)?(-[a-z]+)*$/.test(String(image)))).toEqual([])
  })

  test.each(deployments.map((one) => [one.metadata.name, one] as const))('[DE3] [DE4] %s', (name, one) => {
    const { spec } = one.spec.template
    const [container] = spec.containers
    expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 10_001 })
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    expect(container.volumeMounts.map((mount: Tree) => mount.mountPath)).toEqual([
      shared.MILLRACE_DATA,
      '/tmp',
    ])
    const port = container.ports.find((given: Tree) => given.name === 'http').containerPort
    expect(port).toBe(Number(shared.MILLRACE_PORT))
    const probed = ['startupProbe', 'livenessProbe', 'readinessProbe'].map(
      (probe) => container[probe].httpGet,
    )
    expect(probed.map(({ port }) => port)).toEqual(['http', 'http', 'http'])
    const paths = [
      ...probed.map(({ path }) => path),
      one.spec.template.metadata.annotations['prometheus.io/path'],
    ]
    expect(paths).toEqual(['/healthz', '/healthz', '/readyz', '/metrics'])
    const labels = one.spec.template.metadata.labels
    const budget = ofKind('PodDisruptionBudget').find((given) => given.metadata.name === name)
    expect(budget?.spec.selector.matchLabels).toEqual(labels)
    expect(budget?.spec.minAvailable).toBeLessThan(one.spec.replicas)
  })

  test('[DE4] the metrics for scaling are at /metrics, for existing deployments', () => {
    const told = backlogGauges({ work: 1_500, deliver: 0 }).map(({ name, labels }) => ({ name, labels }))
    const scaled = ofKind('HorizontalPodAutoscaler')
    expect(scaled.length).toBeGreaterThan(1)
    for (const { spec } of scaled) {
      const asked = spec.metrics.map(({ external: { metric } }: Tree) => ({
        name: metric.name,
        labels: metric.selector.matchLabels,
      }))
      expect(told).toEqual(expect.arrayContaining(asked))
      // Each by its own.
      expect(asked.map(({ labels }: Tree) => `millrace-${labels.role}`)).toEqual([spec.scaleTargetRef.name])
      expect(deployments.map((one) => one.metadata.name)).toContain(spec.scaleTargetRef.name)
    }
  })

  test('every file is applied, and the targets of the policy and the service exist', () => {
    const kustomization = ofKind('Kustomization')[0]
    const files = readdirSync(join(project, 'deploy/kubernetes')).filter(
      (name) => name !== 'kustomization.yaml',
    )
    expect(kustomization.resources.toSorted()).toEqual(files.toSorted())
    const all = deployments.map((one) => one.spec.template.metadata.labels)
    for (const selector of [
      ofKind('NetworkPolicy')[0].spec.podSelector.matchLabels,
      ofKind('Service')[0].spec.selector,
    ]) {
      expect(
        all.filter((labels) => Object.entries(selector).every(([key, value]) => labels[key] === value)),
      ).not.toEqual([])
    }
    expect(ofKind('NetworkPolicy')[0].spec.ingress[0].ports[0].port).toBe(Number(shared.MILLRACE_PORT))
  })

  test('[DE3] nodes of the compose file are not root, and write only to their volume', () => {
    for (const name of ['front', 'back']) {
      expect(compose.services[name]).toMatchObject({
        read_only: true,
        user: '10001:10001',
        cap_drop: ['ALL'],
      })
    }
    const server = read('nats/nats.conf')
    expect(server).toContain('sync_interval: always')
  })

  test('[DE3] the image: not root, its own health check, and what it copies exists', () => {
    const file = read('Dockerfile')
    const last = file.slice(file.lastIndexOf('\nFROM '))
    expect(last).toMatch(/\nUSER 10001:10001\n/)
    expect(last).toMatch(/\nHEALTHCHECK /)
    expect(last).toContain('/healthz')
    expect(file).toMatch(/npm ci --omit=dev/)
    const copied = [...file.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap((match) =>
      String(match[1]).split(' '),
    )
    const ignored = readFileSync(join(project, '.dockerignore'), 'utf8').split('\n')
    expect(copied.length).toBeGreaterThan(4)
    for (const path of copied) {
      expect(readdirSync(project).concat('.')).toContain(path)
      expect(ignored).not.toContain(path)
    }
  })
})

test('the package has the documents and examples, and nothing of the compiler', () => {
  const { files } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { files: string[] }
  expect(files).toEqual(expect.arrayContaining(['dist', 'docs', 'examples', '!dist/.tsbuildinfo']))
})
