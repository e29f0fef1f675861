// Reads files of flow tests: a list of tests, or one test per document. Each keeps its place, so that what differs is shown where it
// was expected.

import { type Document, parseAllDocuments } from 'yaml'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { parseInstant } from '../../core/foundation/time/index.ts'
import type { FlowTest, TestPath } from '../../core/testing/flow-test/index.ts'
import { locate } from '../field-positions.ts'
import { compareFindings, type FieldPath, type Finding, type Remark } from '../finding.ts'
import {
  type DefinitionFile,
  makeSourceText,
  reportSyntax,
  reportWarning,
  type SourceText,
} from '../source-text.ts'
import { plainValue } from '../values.ts'
import { makePartReader, type PartReader } from './part-reader.ts'
import { readExpectations } from './read-expectations.ts'
import { readAnswers, readSteps } from './read-steps.ts'

export interface Place {
  readonly file: string
  /** Both from 1. */
  readonly line: number
  readonly column: number
}

export interface ReadTest {
  readonly test: FlowTest
  readonly place: Place
  /** Where a part is written; where it is missing, the place of its parent. */
  placeOf(path: TestPath): Place
  locate(remark: Remark): Finding
}

export interface ReadTests {
  readonly tests: readonly ReadTest[]
  readonly findings: readonly Finding[]
}

export function readFlowTests(files: readonly DefinitionFile[]): ReadTests {
  const tests: ReadTest[] = []
  const findings: Finding[] = []
  for (const file of files) {
    const source = makeSourceText(file)
    for (const document of parse(source)) tests.push(...readDocument(source, document))
    findings.push(...source.findings)
  }
  return { tests, findings: findings.sort(compareFindings) }
}

function parse(source: SourceText): readonly Document.Parsed[] {
  const options = {
    intAsBigInt: true,
    prettyErrors: false,
    resolveKnownTags: false,
    uniqueKeys: false,
  } as const
  const documents = parseAllDocuments(source.text, { ...options, version: '1.2' })
  return Array.isArray(documents) ? documents : []
}

function readDocument(source: SourceText, document: Document.Parsed): readonly ReadTest[] {
  for (const error of document.errors) reportSyntax(source, error)
  for (const warning of document.warnings) reportWarning(source, warning)
  if (document.errors.length > 0 || document.contents === null) return []
  const { value, isBounded, isSpoiled } = plainValue(source, document)
  if (!isBounded || value === null) return []
  const report = (remark: Remark) => {
    // What could not be read was reported already.
    if (!isSpoiled(remark.path)) source.findings.push(locate(source, document, remark))
  }
  const reader = makePartReader(report)
  const isList = Array.isArray(value)
  const all: readonly JsonValue[] = isList ? value : [value]
  const names = new Set<string>()
  return all.flatMap((one, index): readonly ReadTest[] => {
    const path: FieldPath = isList ? [index] : []
    const test = readTest(reader, one, path)
    if (test === null) return []
    if (names.has(test.name))
      report({
        rule: 'duplicate',
        message: 'another test of this file has this name',
        path: [...path, 'name'],
      })
    names.add(test.name)
    const placeOf = (at: TestPath): Place => {
      const { file, line, column } = locate(source, document, { rule: 'value', message: '', path: at })
      return { file, line, column }
    }
    return [
      {
        test,
        place: placeOf([...path, 'name']),
        placeOf,
        locate: (remark) => locate(source, document, remark),
      },
    ]
  })
}

const TEST = ['name', 'given', 'send', 'answers', 'expect']

function readTest(reader: PartReader, value: JsonValue, path: FieldPath): FlowTest | null {
  const fields = reader.fields(value, path, 'a test', TEST)
  if (fields === null) return null
  return {
    name: reader.needed(fields.name, [...path, 'name']),
    path,
    given: readGiven(reader, fields.given, [...path, 'given']),
    steps: readSteps(reader, fields.send, [...path, 'send']),
    answers: readAnswers(reader, fields.answers, [...path, 'answers']),
    expect: readExpectations(reader, fields.expect, [...path, 'expect']),
  }
}

/** A Thursday, and the beginning of a year: any instant will do, and the same every time. */
const BEGINNING = Date.UTC(2026, 0, 1)

function readGiven(reader: PartReader, value: JsonValue | undefined, path: FieldPath): FlowTest['given'] {
  const fields =
    value === undefined ? {} : (reader.fields(value, path, '`given`', ['vars', 'secrets', 'time']) ?? {})
  const time = reader.text(fields.time, [...path, 'time'])
  const instant = time === null ? BEGINNING : parseInstant(time)
  if (instant === null) {
    const message = '`time` is an instant such as `2026-01-05T08:00:00Z`'
    reader.report({ rule: 'value', message, path: [...path, 'time'] })
  }
  return {
    vars: reader.map(fields.vars, [...path, 'vars']),
    secrets: reader.texts(fields.secrets, [...path, 'secrets']),
    time: instant ?? BEGINNING,
  }
}
