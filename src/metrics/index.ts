export { type MetricFamily, type MetricName, OTHER, OWN_BOUNDS_S, metricFamilies } from './catalogue.js';
export { type Outcome, RequestFigures, histogramSeries } from './request-figures.js';
export { Histogram, LabelCounter, type Series, SeriesSum, isSeries } from './series.js';
