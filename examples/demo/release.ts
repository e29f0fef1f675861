// A release becomes an entry in the changelog. The same could be said in YAML; here it is a function, to show what one
// looks like: one effect with a ledger entry of its own, and an event that is emitted when all went well.

import { defineFunction, defineRoute, RetryableError } from 'millrace'

interface Release {
  readonly tracker: string
  readonly repository: string
  readonly tag: string
  readonly name: string
}

export const announceRelease = defineFunction({
  name: 'announce_release',
  description: 'Writes the changelog entry of a release, then says that it is out.',
  async run(release: Release, ctx) {
    const entry = await ctx.effect(
      'changelog',
      async (key, signal) => {
        const response = await fetch(`${release.tracker}/changelog/${encodeURIComponent(release.tag)}`, {
          method: 'PUT',
          headers: { 'content-type': 'application/json', 'idempotency-key': key },
          body: JSON.stringify({ title: `${release.repository} ${release.name}` }),
          signal,
        })
        if (!response.ok) throw new RetryableError(`the tracker answered ${response.status}`, { after: '2s' })
        return (await response.json()) as { id: string }
      },
      { idempotent: true },
    )
    ctx.emit('demo.release.announced', { tag: release.tag, entry: entry.id })
    return entry
  },
})

export default defineRoute({
  name: 'release_to_changelog',
  description: 'Runs a function of release.ts for every published release.',
  on: 'github.events.release.published',
  key: "'RELEASE:' + payload.release.id",
  retry: { attempts: 4, backoff: 'exponential' },
  do: announceRelease.with({
    tracker: '{{ vars.vendor }}',
    repository: '{{ payload.repository.full_name }}',
    tag: '{{ payload.release.tag_name }}',
    name: '{{ payload.release.name }}',
  }),
})
