// The page: title, contents, problems, sections.
import {commandsElement} from './blocks';
import {assignColors} from './colors';
import type {Report} from './data';
import {el, fill, keyed} from './dom';
import {moment, plural, tally} from './format';
import {SectionView} from './section';
import {themeButton} from './theme';

const schema = 1;

export class Page {
  readonly status = el('p', {class: 'live', hidden: true});
  private readonly title = el('h1');
  private readonly about = el('p', {class: 'note'});
  private readonly problems = el('div');
  private readonly made = el('div');
  private readonly contents = el('ul');
  private readonly sections = el('div', {class: 'sections'});
  private readonly views = new Map<string, SectionView>();

  constructor() {
    const nav = el('nav', {'aria-label': 'Contents'}, this.contents);
    document.body.append(
      el('a', {class: 'skip', href: '#content'}, 'Skip to the results'),
      el('header', {}, el('div', {class: 'heading'}, this.title, this.about), el('div', {class: 'corner'}, this.status, themeButton())),
      nav,
      el('main', {id: 'content', tabindex: '-1'}, this.problems, this.sections, this.made));
  }

  update(report: Report): void {
    document.title = report.title;
    fill(this.title, report.title, () => [report.title]);
    fill(this.about, about(report), () => [about(report)]);
    fill(this.problems, [report.schema, report.problems], () => problems(report));
    fill(this.made, report.commands, () => made(report.commands));
    const colors = assignColors(report.sections.flatMap((section) => section.optimizers.map(({name}) => name)));
    keyed(this.sections, this.views, report.sections, (section) => section.id,
      (section) => new SectionView(section, colors), (view, section) => view.update(section, colors));
    const links = report.sections.map(({id, title}) => ({id, title, parts: this.views.get(id)!.parts()}));
    fill(this.contents, links, () => links.map(({id, title, parts}) =>
      el('li', {}, el('a', {href: `#${id}`}, title), el('ul', {}, ...parts.map((part) => el('li', {}, el('a', {href: `#${part.id}`}, part.title)))))));
    this.contents.parentElement!.hidden = links.length === 0;
  }
}

function about(report: Report): string {
  const runs = report.sections.flatMap((section) => section.runs.map(({status}) => status));
  return [
    report.version && `lehi ${report.version}`,
    report.written && `written ${moment(report.written)}`,
    runs.length > 0 ? `${plural(runs.length, 'run')}: ${tally(runs)}` : 'no runs',
  ].filter((part) => part).join(' · ');
}

function problems(report: Report): HTMLElement[] {
  const all = [...report.problems];
  if (report.schema !== schema) all.unshift(`The data has schema ${report.schema ?? 'unknown'}, this page expects ${schema}; parts may be missing.`);
  const notices = all.length === 0 ? [] : [el('div', {class: 'notice', role: 'note'},
    el('h2', {}, plural(all.length, 'problem')), el('ul', {}, ...all.map((problem) => el('li', {}, problem))))];
  return report.sections.length > 0 ? notices : [...notices, el('p', {class: 'nothing'}, 'No results yet.')];
}

function made(commands: string[]): HTMLElement[] {
  if (commands.length === 0) return [];
  return [el('section', {class: 'made', 'aria-labelledby': 'made'}, el('h2', {id: 'made'}, 'Commands that made this report'), commandsElement(commands))];
}
