export { type MetricFamily, type MetricName, OTHER_LABEL, GATEWAY_TIME_BOUNDS_S, metricFamilies } from './catalogue.js';
export { type LoadRow, type DataplaneLoad, loadOf } from './dataplane-load.js';
export { Figures, Interval } from './figures.js';
export { type Outcome, RequestFigures, histogramSeries } from './request-figures.js';
export { Histogram, LabelCounter, type Series, SeriesSum, isSeries } from './series.js';
