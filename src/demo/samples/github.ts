// GitHub events as GitHub sends them, as far as the demo reads them: our own texts, real shapes.

import { COMMENTS, LABELS, LONG_TITLE, PEOPLE, pick, REPOSITORIES, TITLES } from './story.ts'

export interface Sample {
  /** `issues.opened`: the event with its action, as the end of the subject has it. */
  readonly name: string
  /** For the header `x-github-event`. */
  readonly event: string
  readonly data: object
}

export const issueNumber = (number: number) => 100 + number

/** One in twenty samples is an issue whose title is too long for the tracker. */
export const hasLongTitle = (number: number) => number % 20 === 0

function makeIssue(number: number) {
  return {
    id: 2_400_000_000 + number,
    number: issueNumber(number),
    title: hasLongTitle(number) ? LONG_TITLE : pick(TITLES, number),
    user: { login: pick(PEOPLE, number) },
    labels: number % 4 === 2 ? [{ name: 'bug' }] : [],
    created_at: '2026-03-02T08:00:00Z',
  }
}

const about = (number: number, at: string) => ({
  repository: pick(REPOSITORIES, number),
  sender: { login: pick(PEOPLE, number + 1) },
  updated_at: at,
})

type Build = (number: number, at: string) => object

const BUILDERS: Readonly<Record<string, Build>> = {
  'issues.opened': (number, at) => ({ action: 'opened', issue: makeIssue(number), ...about(number, at) }),
  'issues.labeled': (number, at) => ({
    action: 'labeled',
    issue: makeIssue(number),
    label: { name: pick(LABELS, number) },
    ...about(number, at),
  }),
  'issues.closed': (number, at) => ({ action: 'closed', issue: makeIssue(number), ...about(number, at) }),
  'issue_comment.created': (number, at) => ({
    action: 'created',
    issue: makeIssue(number),
    comment: {
      id: 900_000 + number,
      body: pick(COMMENTS, number),
      user: { login: pick(PEOPLE, number + 2) },
    },
    ...about(number, at),
  }),
  'release.published': (number, at) => ({
    action: 'published',
    release: { id: 70_000 + number, tag_name: `v1.${number}.0`, name: `Mill ${1 + (number % 4)}.${number}` },
    ...about(number, at),
  }),
  push: (number, at) => ({
    ref: 'refs/heads/main',
    after: (0x5eed_0000 + number).toString(16).padStart(40, '0'),
    commits: [{ message: pick(TITLES, number + 3), author: { username: pick(PEOPLE, number) } }],
    ...about(number, at),
  }),
  'star.created': (number, at) => ({ action: 'created', starred_at: at, ...about(number, at) }),
  ping: (number, at) => ({
    zen: 'Keep it logically awesome.',
    hook_id: 77_000 + number,
    ...about(number, at),
  }),
}

export const SAMPLE_NAMES: readonly string[] = Object.keys(BUILDERS)

/** null: there is no such sample. `at` is when it happened, ISO 8601. */
export function makeGithubSample(name: string, number: number, at: string): Sample | null {
  const build = BUILDERS[name]
  if (build === undefined) return null
  return { name, event: name.split('.', 1)[0] as string, data: build(number, at) }
}

/** The mix of the demo's stream: mostly issues and comments, something of everything within twenty. */
const MIX = [
  'issues.opened',
  'issue_comment.created',
  'issues.opened',
  'issues.labeled',
  'issues.opened',
  'issue_comment.created',
  'star.created',
  'issues.opened',
  'issues.labeled',
  'push',
  'issues.opened',
  'issue_comment.created',
  'issues.closed',
  'issues.opened',
  'release.published',
  'issues.opened',
  'issue_comment.created',
  'issues.labeled',
  'issues.opened',
  'issue_comment.created',
] as const

export function makeStreamSample(number: number, at: string): Sample {
  return makeGithubSample(pick(MIX, number), number, at) as Sample
}
