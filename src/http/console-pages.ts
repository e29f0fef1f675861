// The console's files: static pages beside the API. Every other address that a browser asks for is a screen of the
// console, which finds its way itself; whatever else does not exist stays a problem document.

import { existsSync, readdirSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** Nothing from elsewhere, nothing inline: an event's text that found its way into a page could do nothing there. */
const POLICY = [
  "default-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

/** Addresses that are for programs: a wrong one is an error for them, not a page. */
const FOR_PROGRAMS = /^\/(v1|in|errors|healthz|readyz|openapi\.json|metrics)(\/|$)/

export interface ConsolePages {
  /** The file or page for a request that no route took; null when there is none. */
  answer(request: FastifyRequest, reply: FastifyReply): FastifyReply | null
}

/** Whether a browser asks for a page, not a program for data. */
export function asksForPage(request: FastifyRequest, path: string): boolean {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  return isRead && !FOR_PROGRAMS.test(path) && (request.headers.accept ?? '').includes('text/html')
}

const pathOf = (request: FastifyRequest) => request.url.split(/[?#]/, 1)[0] ?? '/'

const SECURITY = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

const NOT_BUILT = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Millrace</title>
<h1>The console is not built</h1>
<p>This node runs, and its API is at <a href="/openapi.json">/openapi.json</a>. Build the console with
<code>npm run build</code> and start the node anew.</p>
</html>
`

/** For a checkout in which the console was never built. */
const plainPage: ConsolePages = {
  answer(request, reply) {
    if (!asksForPage(request, pathOf(request))) return null
    reply.headers({ ...SECURITY, 'cache-control': 'no-store' })
    return reply.code(404).type('text/html; charset=utf-8').send(NOT_BUILT)
  },
}

/** `folder` holds the built console; without one, the node serves its API alone. */
export function addConsolePages(app: FastifyInstance, folder: string | null): ConsolePages {
  if (folder === null) return { answer: () => null }
  if (!existsSync(join(folder, 'index.html'))) return plainPage
  const files = new Set(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => `/${relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/')}`),
  )
  app.register(fastifyStatic, { root: folder, serve: false, cacheControl: false })
  return {
    answer(request, reply) {
      const path = pathOf(request)
      const isFile = files.has(path) && path !== '/index.html' && /^(GET|HEAD)$/.test(request.method)
      if (!isFile && !asksForPage(request, path)) return null
      reply.headers({
        ...SECURITY,
        // Names of assets carry the hash of their content.
        'cache-control': path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
      })
      return reply.code(200).sendFile(isFile ? path.slice(1) : 'index.html')
    },
  }
}
