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

/** `folder` holds the built console; without one, the node serves its API alone. */
export function addConsolePages(app: FastifyInstance, folder: string | null): ConsolePages {
  if (folder === null || !existsSync(join(folder, 'index.html'))) return { answer: () => null }
  const files = new Set(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => `/${relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/')}`),
  )
  app.register(fastifyStatic, { root: folder, serve: false, cacheControl: false })
  return {
    answer(request, reply) {
      if (request.method !== 'GET' && request.method !== 'HEAD') return null
      const path = request.url.split(/[?#]/, 1)[0] ?? '/'
      if (FOR_PROGRAMS.test(path)) return null
      const isFile = files.has(path) && path !== '/index.html'
      if (!isFile && !(request.headers.accept ?? '').includes('text/html')) return null
      reply.headers({
        'content-security-policy': POLICY,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        // Names of assets carry the hash of their content.
        'cache-control': path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
      })
      return reply.code(200).sendFile(isFile ? path.slice(1) : 'index.html')
    },
  }
}
