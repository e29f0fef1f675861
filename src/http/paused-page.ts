// The page of a paused node, for a browser: what happened, why, and the command that ends it. The console itself needs the API, which is
// closed until then.

import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'

const STYLE = `
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 42rem; margin: 12vh auto 4rem; padding: 0 1.5rem }
h1 { font-size: 1.5rem; margin: 0 0 .5rem }
h2 { font-size: 1rem; margin: 2rem 0 .5rem }
li { margin: .5rem 0; overflow-wrap: anywhere }
pre { padding: .75rem 1rem; border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere }
p.note { opacity: .75; font-size: .875rem }
`
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** It becomes the console when the node runs. */
const REFRESH_SECONDS = 10

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escapeHtml = (text: string) => text.replace(/[&<>"]/g, (found) => ESCAPES[found] ?? found)

export interface ShownPause {
  /** Why, in whole sentences. */
  readonly reasons: readonly string[]
  /** The code that confirms it. */
  readonly confirm: string
}

/** For clients other than browsers: why, and what to do. */
export function pauseSentences({ reasons, confirm }: ShownPause): string[] {
  return [
    ...reasons,
    `To go on all the same: \`millrace confirm-copy ${confirm}\`, or a start with --confirm-copy ${confirm} or MILLRACE_CONFIRM_COPY=${confirm}.`,
  ]
}

export function sendPausedPage(reply: FastifyReply, { reasons, confirm }: ShownPause): FastifyReply {
  return reply
    .code(503)
    .headers({
      'content-security-policy': POLICY,
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'retry-after': String(REFRESH_SECONDS),
    })
    .type('text/html; charset=utf-8')
    .send(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="${REFRESH_SECONDS}">
<title>Millrace is paused</title>
<style>${STYLE}</style>
<main>
<h1>This node is paused</h1>
<p>It accepts no events and runs no jobs, so that nothing happens twice. Nothing is lost: senders get 503 and send again.</p>
<h2>Why</h2>
<ul>
${reasons.map((reason) => `<li>${escapeHtml(reason)}</li>`).join('\n')}
</ul>
<h2>To run it all the same</h2>
<p>As the admin of this node, once you have dealt with what is named above:</p>
<pre><code>millrace confirm-copy ${escapeHtml(confirm)}</code></pre>
<p>Or restart it with the same confirmation:</p>
<pre><code>millrace start --confirm-copy ${escapeHtml(confirm)}</code></pre>
<p class="note">This page turns into the console when the node runs.</p>
</main>
</html>
`)
}
