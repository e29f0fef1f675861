// Compiles the forms in which definitions contain expressions: conditions, filters, paths, templates and trees of templates.

export { type Condition, compileCondition } from './condition.ts'
export { makeTest } from './filter.ts'
export { compilePath, looksLikePath, makePath, type Path, type PathStep } from './path.ts'
export {
  compileTemplate,
  splitTemplate,
  splitTemplateText,
  type Template,
  type TemplateMode,
  type TemplatePart,
} from './template.ts'
export { type CompiledTree, compileShape, type Shape } from './template-tree.ts'
